package conformance

// Step is one step that a scenario can use.
type Step struct {
	Area    string // as the feature files are divided
	Keyword string // Given, When or Then
	Pattern string // a regular expression of the whole line
}

// stepArea is the steps of one area.
type stepArea struct {
	name  string
	steps []step
}

// stepAreas are all areas, in the order of the interface document.
func stepAreas() []stepArea {
	return []stepArea{
		{"publish", publishSteps},
		{"parallel delivery", parallelSteps},
		{"authentication", authSteps},
		{"retry", retrySteps},
		{"URL group", groupSteps},
		{"workflow run", runSteps},
		{"DLQ", dlqSteps},
		{"restart", restartSteps},
		{"log", logSteps},
		{"whole log", logScanSteps},
		{"flow control", flowSteps},
		{"statistics", statsSteps},
		{"statistics by day", statsDaySteps},
		{"search index", searchSteps},
		{"vector index", vectorSteps},
		{"rate-limit plugin", limitSteps},
		{"extensions", extensionSteps},
	}
}

// Steps lists every step that there is, area by area.
func Steps() []Step {
	var list []Step
	for _, area := range stepAreas() {
		for _, st := range area.steps {
			list = append(list, Step{area.name, st.keyword, st.pattern})
		}
	}
	return list
}
