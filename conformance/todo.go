package conformance

type (
	limiting struct{ stop func() }
)

var limitSteps []step
