package engine

// maxBulk is the largest number of messages that one bulk cancel cancels.
const maxBulk = 10000
