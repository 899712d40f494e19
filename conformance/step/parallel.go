package step

import (
	"sync"

	"github.com/understudy-mock/understudy/conformance/harness"
)

// atOnce calls do n times concurrently and returns the error with the lowest index.
func atOnce(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = harness.Guard(func() error { return do(i) }) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err // a verdict has one reason
		}
	}
	return nil
}
