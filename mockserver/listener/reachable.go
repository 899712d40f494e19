package listener

import (
	"fmt"
	"net"
)

// Reachable is the address, host:port, at which clients on this machine reach a
// listener. For a listener on all interfaces it is IPv4 loopback: sockets of Go for
// all interfaces serve both IPv4 and IPv6.
func Reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return addr.String()
}
