package kv

func init() { maxScriptSteps = 2_000_000 } // an endless script takes a tenth of a second
