package step

// Listed is one step that a scenario can use.
type Listed struct {
	Area    string // topic of the step
	Keyword string // Given, When or Then
	Pattern string // a regular expression of the whole line
}

// stepArea is an area with its steps.
type stepArea struct {
	name  string
	steps []step
}

// stepAreas returns all areas, in the order of the interface document.
func stepAreas() []stepArea {
	return []stepArea{
		{"publish", publishSteps},
		{"delivery", deliverySteps},
		{"authentication", authSteps},
		{"retry", retrySteps},
		{"URL group", groupSteps},
		{"workflow run", runSteps},
		{"DLQ", dlqSteps},
		{"restart", restartSteps},
		{"log", logSteps},
		{"filters of lists", filterSteps},
		{"flow control", flowSteps},
		{"combinations", combinationSteps},
		{"statistics", statsSteps},
		{"statistics by day", statsDaySteps},
		{"search index", searchSteps},
		{"vector index", vectorSteps},
		{"rate-limit plugin", limitSteps},
		{"worlds", worldSteps},
		{"extensions", extensionSteps},
		{"target file", targetSteps},
	}
}

// List returns all steps, by area.
func List() []Listed {
	var list []Listed
	for _, area := range stepAreas() {
		for _, st := range area.steps {
			list = append(list, Listed{area.name, st.Keyword, st.Pattern})
		}
	}
	return list
}
