package ui_test

import (
	_ "github.com/understudy-mock/understudy/mockserver/complete" // the tests look at the page
)
