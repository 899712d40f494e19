# Writes a CycloneDX bill of materials from what `go version -m BINARY` prints:
# the toolchain, the main module, and each module that is linked in, with the
# checksum of go.sum as a property.
function component(name, version, sum) {
	return sprintf("    {\"type\": \"library\", \"name\": \"%s\", \"version\": \"%s\", \"purl\": \"pkg:golang/%s@%s\"%s}", name, version, name, version,
		sum == "" ? "" : sprintf(", \"properties\": [{\"name\": \"go:sum\", \"value\": \"%s\"}]", sum))
}
NR == 1 { sub(/^go/, "", $2); list[n++] = component("std", $2, "") }
$1 == "mod" { name = $2 } # its version is that of the release: (devel) in a checkout
$1 == "dep" { list[n++] = component($2, $3, $4) }
$1 == "=>" { list[n - 1] = component($2, $3, $4) }
END {
	print "{"
	print "  \"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,"
	printf "  \"metadata\": {\"component\": {\"type\": \"application\", \"name\": \"%s\", \"version\": \"%s\"}},\n", name, release
	print "  \"components\": ["
	for (i = 0; i < n; i++) print list[i] (i < n - 1 ? "," : "")
	print "  ]"
	print "}"
}
