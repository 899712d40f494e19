package clip_test

import (
	"testing"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	expect.Equal(t, "short text", clip.Text("é!", 3), "é!")
	expect.Equal(t, "cut after a character", clip.Text("aéb", 3), "aé…")
	expect.Equal(t, "cut within a character", clip.Text("aéb", 2), "a…")
}
