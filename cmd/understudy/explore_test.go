package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// shop is a command of the tests: an application that publishes a charge. It charges again if a
// delivery is repeated; with an argument, no checkout ends.
func shop() {
	url := "http://127.0.0.1:" + os.Getenv("PORT")
	handle := func(path, to string) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if len(os.Args) > 1 && path == "/checkout" {
				select {}
			}
			if err := programs.Post(to, os.Getenv("UNDERSTUDY_TOKEN"), `{"order":1}`); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	http.HandleFunc("/reset", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/state", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	handle("/checkout", os.Getenv("UNDERSTUDY_URL")+"/v2/publish/"+url+"/charge")
	handle("/charge", os.Getenv("PAYMENTS_URL")+"/charges")
	fmt.Fprintln(os.Stderr, http.ListenAndServe(strings.TrimPrefix(url, "http://"), nil))
}
