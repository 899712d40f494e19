package kv

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"
)

// scripts supports scripts whose first line names their language ("#!lua
// flags=..."), as newer clients send them. No backend accepts that line, so it
// becomes a Lua comment. Clients use the hash of the text that they sent; scripts
// maps it to the hash in the backend.
type scripts struct {
	mu     sync.Mutex
	hashes map[string]string // hash in the backend, by the hash of the text as sent
}

// out converts a command for the backend.
func (s *scripts) out(command []string) []string {
	if len(command) < 2 {
		return command
	}
	switch strings.ToUpper(command[0]) {
	case "EVAL", "EVAL_RO":
		return replaceArgument(command, 1, s.comment(command[1]))
	case "EVALSHA", "EVALSHA_RO":
		return replaceArgument(command, 1, s.hash(command[1]))
	case "SCRIPT":
		return s.outScript(command)
	}
	return command
}

// outScript converts the text of SCRIPT LOAD and the hashes of SCRIPT EXISTS.
func (s *scripts) outScript(command []string) []string {
	switch strings.ToUpper(command[1]) {
	case "LOAD":
		if len(command) == 3 {
			return replaceArgument(command, 2, s.comment(command[2]))
		}
	case "EXISTS":
		for i := 2; i < len(command); i++ {
			command = replaceArgument(command, i, s.hash(command[i]))
		}
	}
	return command
}

// in converts a reply for the client: SCRIPT LOAD returns the hash of the text that
// the client sent.
func (s *scripts) in(command []string, value any) any {
	hash, ok := value.(string)
	if ok && len(command) == 3 && strings.EqualFold(command[0], "SCRIPT") && strings.EqualFold(command[1], "LOAD") && len(hash) == sha1.Size*2 {
		return scriptDigest(command[2])
	}
	return value
}

// comment makes the first line a comment, and records both hashes.
func (s *scripts) comment(text string) string {
	if !strings.HasPrefix(text, "#!") {
		return text
	}
	run := "--" + text
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hashes == nil || len(s.hashes) >= maxScripts*2 { // clients send the text again for an unknown hash
		s.hashes = map[string]string{}
	}
	s.hashes[scriptDigest(text)] = scriptDigest(run)
	return run
}

// hash returns the hash of a script in the backend. An unknown hash is unchanged: the
// backend replies NOSCRIPT, and the client sends the text.
func (s *scripts) hash(sent string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run, ok := s.hashes[strings.ToLower(sent)]; ok {
		return run
	}
	return strings.ToLower(sent)
}

func scriptDigest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// replaceArgument returns a command with argument i replaced; it does not change command.
func replaceArgument(command []string, i int, argument string) []string {
	if command[i] == argument {
		return command
	}
	command = append([]string(nil), command...)
	command[i] = argument
	return command
}
