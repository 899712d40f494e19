package state

// SnapshotMark is the place of an object in the snapshot of an epoch.
type SnapshotMark struct {
	Epoch uint32
	Place uint32 // 0: created after the snapshot began
}
