package engine

// maxBulk is how many messages one bulk cancel takes.
const maxBulk = 10000
