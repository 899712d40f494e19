package state

// PublishRequest asks for one message, or one for each endpoint of a group.
// Exactly one of URL and Group is set.
type PublishRequest struct {
	URL      string
	Group    string
	Options  Options
	Header   Header // request headers worth keeping: configuration, never credentials
	Forward  Header // for the destination, by prefix
	All      Header // every forwardable header; used when the merged options say HeaderForward
	Body     []byte
	CallerIP string
	Trigger  bool // starts a run without the help of a client library

	ScheduleID string `journal:"-" saved:"no"` // the schedule that publishes, which sets it
}

// Forwarded is what the destination gets under the effective options.
func (r *PublishRequest) Forwarded(opts *Options) Header {
	h := MergeHeader(r.Forward, opts.Forward)
	if opts.HeaderForward {
		h = MergeHeader(h, r.All)
	}
	return h
}
