package kv

func init() { maxScriptSteps = 1_000_000 } // so that an endless script takes a fraction of a second
