package listener

import (
	"fmt"
	"net"
)

// Reachable is an address that a client on this machine can use: a listener on
// all interfaces has none of its own, but takes those of IPv4 loopback, since
// Go's sockets for all interfaces serve both families.
func Reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return addr.String()
}
