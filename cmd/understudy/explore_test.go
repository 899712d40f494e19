package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
)

// shop is a command of the tests: an application that publishes a charge. It charges again if a
// delivery is repeated; with an argument, no checkout ends.
func shop() {
	url := "http://127.0.0.1:" + os.Getenv("PORT")
	post := func(to string) error {
		r, err := http.NewRequest(http.MethodPost, to, strings.NewReader(`{"order":1}`))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+os.Getenv("UNDERSTUDY_TOKEN"))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode/100 != 2 {
			return fmt.Errorf("%s: %s", to, answer.Status)
		}
		return nil
	}
	handle := func(path, to string) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if len(os.Args) > 1 && path == "/checkout" {
				select {}
			}
			if err := post(to); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	http.HandleFunc("/reset", func(http.ResponseWriter, *http.Request) {})
	handle("/checkout", os.Getenv("UNDERSTUDY_URL")+"/v2/publish/"+url+"/charge")
	handle("/charge", os.Getenv("PAYMENTS_URL")+"/charges")
	fmt.Fprintln(os.Stderr, http.ListenAndServe(strings.TrimPrefix(url, "http://"), nil))
}
