package conformance

type (
	flowing     struct{}
	statistics  struct{}
	vectorizing struct{}
	searching   struct{}
	limiting    struct{ stop func() }
	extending   struct{}
)

var flowSteps, statsSteps, searchSteps, vectorSteps, limitSteps, extensionSteps []step

func (s *scenario) statsPath() string { return "/v2/qstash/stats/" + s.user }
