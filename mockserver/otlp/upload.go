package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// upload sends spans over OTLP/HTTP as protobuf. The exporter of the SDK links a second protocol
// as well, 60 packages that nothing here uses.
type upload struct {
	endpoint string
	header   http.Header
	gzip     bool
	client   *http.Client
}

// uploadTimeout is the default of OTEL_EXPORTER_OTLP_TIMEOUT.
const uploadTimeout = 10 * time.Second

// variable is a variable of the exporter, for traces or for all signals.
func variable(name string) string {
	if value := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
		return value
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_" + name)
}

// newUpload reads the variables of the exporter; an endpoint takes precedence over theirs.
func newUpload(endpoint string) (*upload, error) {
	u := &upload{endpoint: endpoint, header: http.Header{"Content-Type": {"application/x-protobuf"}}, gzip: variable("COMPRESSION") == "gzip"}
	if u.endpoint == "" {
		u.endpoint = os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	}
	if base := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); u.endpoint == "" && base != "" {
		u.endpoint = strings.TrimRight(base, "/") + tracesPath
	}
	at, err := url.Parse(u.endpoint)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("invalid value %q: must be the URL of a collector, such as http://localhost:4318", u.endpoint)
	}
	if endpoint != "" && strings.Trim(at.Path, "/") == "" {
		at.Path = tracesPath
		u.endpoint = at.String()
	}
	for pair := range strings.SplitSeq(variable("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			u.header.Set(strings.TrimSpace(name), plain)
		}
	}
	timeout := uploadTimeout
	if ms, err := strconv.Atoi(variable("TIMEOUT")); err == nil && ms > 0 {
		timeout = time.Duration(ms) * time.Millisecond
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if file := variable("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text)
	}
	u.client = &http.Client{Timeout: timeout, Transport: transport}
	return u, nil
}

// tracesPath is where a collector takes traces, below its address.
const tracesPath = "/v1/traces"

// Start implements otlptrace.Client. The first upload connects.
func (u *upload) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (u *upload) Stop(context.Context) error {
	u.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client.
func (u *upload) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // on the wire, an ExportTraceServiceRequest
	if err != nil {
		return err
	}
	if u.gzip {
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		_, _ = w.Write(body) // to memory
		_ = w.Close()
		body = small.Bytes()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = u.header.Clone()
	if u.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	response, err := u.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	const most = 4 << 10 // of an error
	text, _ := io.ReadAll(io.LimitReader(response.Body, most))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s: %.200s", response.Status, strings.ToValidUTF8(string(text), "?"))
	}
	return nil
}
