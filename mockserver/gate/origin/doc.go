// Package origin determines where a request comes from: from this machine or
// another one, and from which web page.
//
//	if err := origin.RefuseCrossSite(r, false); err != nil { ... } // a page of another site
//
// Every page that a browser on this machine shows can send requests to a server
// on loopback. Pages of loopback and of the server itself are admitted. Pages of
// other sites are refused, also when their host name resolves to loopback (DNS
// rebinding). A request that a proxy on this machine passes on also comes from
// loopback: the headers of proxies tell. Programs other than browsers send neither Origin, Referer nor
// Sec-Fetch-Site, and pass.
package origin
