package kv

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/geohash"
)

const (
	mercatorLimit = 85.05112878    // largest latitude of a position, in degrees
	earthRadius   = 6372797.560856 // metres, as in the original server
	geoBits       = 52
)

// metresPerUnit are the units of distances in metres.
var metresPerUnit = map[string]float64{"FT": 0.3048, "KM": 1000, "M": 1, "MI": 1609.34}

// geoAdd implements GEOADD with its options. Positions are stored as scores.
func geoAdd(e *embedded, c *connection, args []string) any {
	add := []string{"ZADD", args[0]}
	rest := args[1:]
	for len(rest) > 0 && wordSet("CH NX XX")[strings.ToUpper(rest[0])] {
		add, rest = append(add, rest[0]), rest[1:]
	}
	if len(rest) == 0 || len(rest)%3 != 0 {
		return errSyntax
	}
	for triple := range slices.Chunk(rest, 3) {
		long, err := strconv.ParseFloat(triple[0], 64)
		lat, err2 := strconv.ParseFloat(triple[1], 64)
		if err != nil || err2 != nil {
			return failure("ERR value is not a valid float")
		}
		if !(math.Abs(long) <= 180 && math.Abs(lat) <= mercatorLimit) {
			return failure(fmt.Sprintf("ERR invalid longitude,latitude pair %f,%f", long, lat))
		}
		add = append(add, strconv.FormatUint(geohash.EncodeIntWithPrecision(lat, long, geoBits), 10), triple[2])
	}
	return e.do(c, add)
}

// memberPosition returns the position of a member. If it has none, reply is not a
// string but the reply of the command.
func memberPosition(c *connection, key, member string) (long, lat float64, reply any) {
	score := c.look("ZSCORE", key, member)
	text, ok := score.(string)
	if !ok {
		return 0, 0, score
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return 0, 0, failure("ERR score of a member is not a place")
	}
	box := geohash.BoundingBoxIntWithPrecision(uint64(n), geoBits) // its upper bounds are not exact
	return cellCentre(box.MinLng, 180), cellCentre(box.MinLat, mercatorLimit), text
}

// cellCentre returns the centre of the cell that begins at low, calculated as in the
// original server: tests of clients compare all digits.
func cellCentre(low, limit float64) float64 {
	const cells = 1 << (geoBits / 2)
	cell := math.Round((low + limit) / (2 * limit) * cells)
	return (-limit + cell/cells*(2*limit) + -limit + (cell+1)/cells*(2*limit)) / 2
}

// geoPositions implements GEOPOS, with all digits.
func geoPositions(_ *embedded, c *connection, args []string) any {
	return eachPlace(c, args, func(long, lat float64) any { return []any{formatDigits(long), formatDigits(lat)} })
}

// eachPlace replies with shown of the position of each member, null for an unknown
// member.
func eachPlace(c *connection, args []string, shown func(long, lat float64) any) any {
	replies := make([]any, len(args)-1)
	for i, member := range args[1:] {
		long, lat, reply := memberPosition(c, args[0], member)
		switch reply := reply.(type) {
		case failure:
			return reply
		case string:
			replies[i] = shown(long, lat)
		}
	}
	return replies
}

func formatDigits(f float64) string { return strconv.FormatFloat(f, 'g', 17, 64) }

// geoDistance implements GEODIST.
func geoDistance(_ *embedded, c *connection, args []string) any {
	unit := "M"
	if len(args) > 3 {
		unit = strings.ToUpper(args[3])
	}
	if metresPerUnit[unit] == 0 || len(args) > 4 {
		return failure("ERR unsupported unit provided. please use M, KM, FT, MI")
	}
	long, lat, reply := memberPosition(c, args[0], args[1])
	long2, lat2, reply2 := memberPosition(c, args[0], args[2])
	for _, r := range []any{reply, reply2} {
		if _, ok := r.(string); !ok {
			return r
		}
	}
	return strconv.FormatFloat(haversineDistance(long, lat, long2, lat2)/metresPerUnit[unit], 'f', 4, 64)
}

// haversineDistance returns the distance in metres.
func haversineDistance(long, lat, long2, lat2 float64) float64 {
	radians := func(degrees float64) float64 { return degrees * math.Pi / 180 }
	u := math.Sin((radians(lat2) - radians(lat)) / 2)
	v := math.Sin((radians(long2) - radians(long)) / 2)
	return 2 * earthRadius * math.Asin(math.Sqrt(u*u+math.Cos(radians(lat))*math.Cos(radians(lat2))*v*v))
}

// geoHash implements GEOHASH: 11 characters, as in geohash.org, where latitudes end at 90.
func geoHash(_ *embedded, c *connection, args []string) any {
	return eachPlace(c, args, func(long, lat float64) any {
		return geohash.EncodeWithPrecision(lat*mercatorLimit/90, long, 10) + "0" // 52 bits are not enough for 11 characters
	})
}

// geoSearch implements GEOSEARCH, with all digits of coordinates.
func geoSearch(_ *embedded, c *connection, args []string) any {
	reply := c.look(append([]string{"GEOSEARCH"}, args...)...)
	found, _ := reply.([]any)
	if !slices.ContainsFunc(args, func(s string) bool { return strings.EqualFold(s, "WITHCOORD") }) {
		return reply
	}
	for _, item := range found {
		parts, ok := item.([]any)
		if !ok || len(parts) < 2 {
			continue
		}
		if long, lat, reply := memberPosition(c, args[0], fmt.Sprint(parts[0])); reply != nil {
			parts[len(parts)-1] = []any{formatDigits(long), formatDigits(lat)} // coordinates come last
		}
	}
	return reply
}

// geoSearchStore implements GEOSEARCHSTORE. The scores are positions or, with
// STOREDIST, distances.
func geoSearchStore(e *embedded, c *connection, args []string) any {
	search, byDistance := []string{"GEOSEARCH"}, false
	for _, a := range args[1:] {
		if strings.EqualFold(a, "STOREDIST") {
			byDistance = true
		} else {
			search = append(search, a)
		}
	}
	if byDistance {
		search = append(search, "WITHDIST")
	}
	reply := c.look(search...)
	found, ok := reply.([]any)
	if !ok {
		return reply
	}
	var members []any
	for _, item := range found {
		if pair, ok := item.([]any); ok && len(pair) == 2 {
			members = append(members, pair...)
			continue
		}
		members = append(members, item, c.look("ZSCORE", args[1], fmt.Sprint(item)))
	}
	return e.storeScores(c, args[0], members)
}
