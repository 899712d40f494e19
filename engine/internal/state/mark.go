package state

// SnapshotMark is where an object is in the snapshot of an epoch.
type SnapshotMark struct {
	Epoch uint32
	Place uint32 // 0: it is new since then
	Live  bool   // of a message: it had not ended
}
