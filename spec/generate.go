package spec

//go:generate go tool oapi-codegen -config api/config.yaml openapi.yaml
