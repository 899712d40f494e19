// Package shop is an application in Go that explore runs in a test: a checkout reserves the goods and
// charges the customer, a charge sends a receipt. Its bugs are planted; without them it is right.
package shop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Shop is the application.
type Shop struct {
	*http.ServeMux
	URL     string // where it listens
	service string // address of the messaging service
	token   string
	outside func(name string) string
	bugs    map[string]bool

	mu     sync.Mutex
	orders map[int]*Order
	ledger map[string]bool // what was charged
}

// Order is the state of an order.
type Order struct {
	Reserved bool
	Receipt  string // none, sent, for a person
}

// New returns a shop. outside returns the addresses of the services for payments and mail.
func New(service, token string, outside func(name string) string, bugs ...string) *Shop {
	s := &Shop{ServeMux: http.NewServeMux(), service: service, token: token, outside: outside, bugs: map[string]bool{}, orders: map[int]*Order{}, ledger: map[string]bool{}}
	for _, b := range bugs {
		s.bugs[b] = true
	}
	for path, work := range map[string]func(*Order, int, string) error{
		"/checkout": s.checkout, "/reserve": s.reserve, "/charge": s.charge, "/receipt": s.receipt, "/unsent": s.unsent,
	} {
		s.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { s.handle(w, r, work) })
	}
	return s
}

// handle does the work of a request. An error is answered with 500, so that the service tries again.
func (s *Shop) handle(w http.ResponseWriter, r *http.Request, work func(o *Order, order int, retried string) error) {
	var body struct {
		Order      int
		SourceBody []byte
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	if err == nil && body.SourceBody != nil {
		err = json.Unmarshal(body.SourceBody, &body)
	}
	s.mu.Lock()
	if s.orders[body.Order] == nil {
		s.orders[body.Order] = &Order{Receipt: "none"}
	}
	o := s.orders[body.Order]
	s.mu.Unlock()
	if err == nil {
		err = work(o, body.Order, r.Header.Get("Upstash-Retried"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s *Shop) checkout(_ *Order, order int, _ string) error {
	if err := s.publish("/reserve", order); err != nil {
		return err
	}
	return s.publish("/charge", order)
}

func (s *Shop) reserve(o *Order, _ int, _ string) error {
	s.set(func() { o.Reserved = true })
	return nil
}

// charge charges an order once. The payment provider recognizes a second call by its key.
func (s *Shop) charge(o *Order, order int, retried string) error {
	entry, key := fmt.Sprint(order), fmt.Sprintf("charge-%d", order)
	if s.bugs["effect-before-lost-answer"] { // each attempt is another delivery
		entry, key = entry+" "+retried, key+"-"+retried
	}
	if s.bugs["two-faults"] {
		key += "-" + retried
	}
	var reserved, charged bool
	s.set(func() {
		reserved, charged = o.Reserved, s.ledger[entry]
		if s.bugs["two-faults"] { // a delivery comes twice at most, so the entry is not needed any more
			delete(s.ledger, entry)
		}
	})
	switch {
	case !reserved && s.bugs["order-assumed"]: // nothing is reserved: the order was cancelled
		return nil
	case !reserved:
		return fmt.Errorf("order %d is not reserved yet", order)
	case s.bugs["not-idempotent"]:
		charged, key = charged && retried != "0", "" // only a retry can be the second delivery
	case charged && s.bugs["swallowed-error"]: // also if the first attempt failed after the charge
		return nil
	}
	if !charged {
		if err := s.call(s.outside("payments")+"/charges", order, "Idempotency-Key: "+key); err != nil {
			return err
		}
		s.set(func() { s.ledger[entry] = true })
	}
	callback := "Upstash-Failure-Callback: " + s.URL + "/unsent"
	if s.bugs["no-failure-callback"] {
		callback = ""
	}
	return s.publish("/receipt", order, "Upstash-Retries: 0", callback)
}

func (s *Shop) receipt(o *Order, order int, _ string) error {
	err := s.call(s.outside("mail")+"/receipts", order, fmt.Sprintf("Idempotency-Key: receipt-%d", order))
	if err == nil {
		s.set(func() { o.Receipt = "sent" })
	}
	return err
}

// unsent receives the failures of receipts.
func (s *Shop) unsent(o *Order, _ int, _ string) error {
	s.set(func() {
		if o.Receipt != "sent" {
			o.Receipt = "for a person"
		}
	})
	return nil
}

func (s *Shop) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *Shop) publish(path string, order int, headers ...string) error {
	headers = append(headers, "Authorization: Bearer "+s.token, fmt.Sprintf("Upstash-Deduplication-Id: %s-%d", path[1:], order))
	return s.call(s.service+"/v2/publish/"+s.URL+path, order, headers...)
}

func (s *Shop) call(url string, order int, headers ...string) error {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"order":%d}`, order)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		if name, value, _ := strings.Cut(h, ": "); value != "" {
			r.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s: %s", url, answer.Status, text)
	}
	return err
}
