package conformance

type (
	limiting  struct{ stop func() }
	extending struct{}
)

var limitSteps, extensionSteps []step
