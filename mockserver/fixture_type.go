package mockserver

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// fixture is a fixture file (spec/fixture.schema.json): things for the account
// that the call acts on, and for others by name.
type fixture struct {
	Version  int              `json:"version"`
	Accounts []fixtureAccount `json:"accounts"`
	fixtureThings
}

type fixtureAccount struct {
	ID       string `json:"id"`
	Token    string `json:"token"`
	Password string `json:"password"`
	fixtureThings
}

type fixtureThings struct {
	Groups    []fixtureGroup    `json:"groups"`
	Queues    []fixtureQueue    `json:"queues"`
	FlowKeys  []fixtureFlow     `json:"flowKeys"`
	Schedules []fixtureSchedule `json:"schedules"`
	Messages  []fixtureMessage  `json:"messages"`
	DLQ       []fixtureEntry    `json:"dlq"`
	Runs      []fixtureRun      `json:"runs"`
	Usage     []fixtureUsage    `json:"usage"`
	Search    []fixtureSearch   `json:"search"`
	Vectors   []fixtureVectors  `json:"vectors"`
	Stubs     []stub.Stub       `json:"stubs"`
}

type (
	fixtureBody struct {
		Body   json.RawMessage `json:"body"`
		Base64 string          `json:"bodyBase64"`
	}
	fixtureHeaders map[string]json.RawMessage
	fixtureMessage struct {
		Destination string         `json:"destination"`
		Headers     fixtureHeaders `json:"headers"`
		Queue       string         `json:"queue"`
		fixtureBody
	}
	fixtureGroup struct {
		Name      string            `json:"name"`
		Endpoints []engine.Endpoint `json:"endpoints"`
		Headers   fixtureHeaders    `json:"headers"`
	}
	fixtureQueue struct {
		Name        string `json:"name"`
		Parallelism int    `json:"parallelism"`
		Paused      bool   `json:"paused"`
	}
	fixtureFlow struct {
		Key         string `json:"key"`
		Parallelism int    `json:"parallelism"`
		Rate        int    `json:"rate"`
		Period      string `json:"period"`
		Paused      bool   `json:"paused"`
		Pinned      bool   `json:"pinned"`
	}
	fixtureSchedule struct {
		ID     string `json:"id"`
		Cron   string `json:"cron"`
		Paused bool   `json:"paused"`
		fixtureMessage
	}
	fixtureOutcome struct {
		Status  *int           `json:"status"`
		Headers fixtureHeaders `json:"headers"`
		Error   string         `json:"error"`
		fixtureBody
	}
	fixtureCallback struct {
		State   string          `json:"state"`
		Status  int             `json:"status"`
		Headers fixtureHeaders  `json:"headers"`
		Body    json.RawMessage `json:"body"`
	}
	fixtureEntry struct {
		ID       string           `json:"id"`
		At       json.RawMessage  `json:"at"`
		Retried  *int             `json:"retried"`
		Response fixtureOutcome   `json:"response"`
		Callback *fixtureCallback `json:"callback"`
		CallerIP string           `json:"callerIp"`
		fixtureMessage
	}
	fixtureRun struct {
		ID        string          `json:"id"`
		URL       string          `json:"url"`
		State     string          `json:"state"`
		CreatedAt json.RawMessage `json:"createdAt"`
		EndedAt   json.RawMessage `json:"endedAt"`
		NextAt    json.RawMessage `json:"nextAt"`
		Headers   fixtureHeaders  `json:"headers"`
		CallerIP  string          `json:"callerIp"`
		Steps     []struct {
			Name string          `json:"name"`
			Type string          `json:"type"`
			Out  json.RawMessage `json:"out"`
		} `json:"steps"`
		Waits []struct {
			Event   string `json:"event"`
			Timeout string `json:"timeout"`
		} `json:"waits"`
		Result   json.RawMessage  `json:"result"`
		DLQID    string           `json:"dlqId"`
		Retried  *int             `json:"retried"`
		Response fixtureOutcome   `json:"response"`
		Callback *fixtureCallback `json:"callback"`
		fixtureBody
	}
	fixtureUsage struct {
		At         json.RawMessage `json:"at"`
		Until      json.RawMessage `json:"until"`
		Every      string          `json:"every"`
		Requests   int64           `json:"requests"`
		Bytes      int64           `json:"bytes"`
		Created    int64           `json:"created"`
		Delivered  int64           `json:"delivered"`
		Retried    int64           `json:"retried"`
		Failed     int64           `json:"failed"`
		Canceled   int64           `json:"canceled"`
		Steps      int64           `json:"steps"`
		Started    int64           `json:"started"`
		Succeeded  int64           `json:"succeeded"`
		RunsFailed int64           `json:"runsFailed"`
		RunsEnded  int64           `json:"runsCanceled"`
	}
	fixtureSearch struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Region    string          `json:"region"`
		Type      string          `json:"type"`
		CreatedAt json.RawMessage `json:"createdAt"`
	}
	fixtureVectors struct {
		Index          string `json:"index"`
		Type           string `json:"type"`
		Dimension      int    `json:"dimension"`
		Similarity     string `json:"similarity"`
		EmbeddingModel string `json:"embeddingModel"`
		Namespace      string `json:"namespace"`
		Vectors        []struct {
			ID       string               `json:"id"`
			Vector   []float32            `json:"vector"`
			Sparse   *vector.SparseVector `json:"sparse"`
			Metadata json.RawMessage      `json:"metadata"`
			Data     *string              `json:"data"`
		} `json:"vectors"`
	}
)
