package client

import "context"

// delivery is a call of the service to a workflow endpoint.
type delivery struct{}

// served is a workflow endpoint that an adapter hosts.
type served struct{}

func (x *execution) act(context.Context, *Call) error { return nil }

func (x *execution) workflowReply(*request) *reply { return nil }
