package mockserver_test

import (
	_ "github.com/understudy-mock/understudy/mockserver/complete" // the tests use all parts
)
