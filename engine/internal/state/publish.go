package state

// PublishRequest is a request to publish one message, or one for each endpoint of a group.
// Exactly one of URL and Group is set.
type PublishRequest struct {
	URL      string
	Group    string
	Options  Options
	Header   HeaderText // request headers to keep: configuration, never credentials; set by Keep
	Forward  Header     // headers with the prefix for forwarding
	All      Header     // all headers that can be forwarded; used if the merged options have HeaderForward
	Body     []byte
	CallerIP string
	Trigger  bool   // starts a run without the help of a client library
	Original string // message that it publishes again, with changes; "" for none

	ScheduleID string `journal:"-" saved:"no"` // set by the schedule that publishes
}

// Keep sets the headers to keep: those of h with one of the names, which it sorts.
func (r *PublishRequest) Keep(h Header, names []string) { r.Header = textOf(h, names) }

// Headers returns those of the message: to keep, and for the destination under the effective
// options. Those of a group count last.
func (r *PublishRequest) Headers(in *HeaderInterner, opts *Options, group Header) HeaderPair {
	of := r.forwarded(opts)
	return in.Pair(r.Header, of[0], of[1], of[2], group)
}

// Forwarded returns the headers that the destination receives under the effective options.
func (r *PublishRequest) Forwarded(opts *Options) Header {
	of := r.forwarded(opts)
	return MergeHeader(MergeHeader(of[0], of[1]), of[2])
}

// forwarded returns what Forwarded merges; the first one that has a name counts.
func (r *PublishRequest) forwarded(opts *Options) [3]Header {
	of := [...]Header{r.Forward, opts.Forward, nil}
	if opts.HeaderForward {
		of[2] = r.All
	}
	return of
}
