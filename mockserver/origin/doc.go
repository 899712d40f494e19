// Package origin tells where a request comes from: from this machine or another,
// and from which web page.
//
//	if err := origin.RefuseCrossSite(r, false); err != nil { ... } // a page of another site
//
// A server on loopback is reached by every page that a browser on this machine
// shows. Pages of loopback and of the server itself are let in, those of other
// sites are not, whatever name they have given to loopback (DNS rebinding).
// Programs that are no browser send none of what is looked at here, and pass.
package origin
