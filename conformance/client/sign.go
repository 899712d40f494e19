package client

func (x *execution) sign() error { return nil }
