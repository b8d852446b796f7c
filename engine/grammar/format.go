package grammar

import "sync"

// Formats that are held to, as expressions over the whole string. They take a part of
// what the formats' own grammars allow, and never more. Days go with their months, and
// 29 February with its years (RFC 3339, appendix C).
const (
	fourth     = `(0[48]|[2468][048]|[13579][26])` // two digits, divisible by 4, but for 00
	dateFormat = `([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{2}` + fourth + `|` + fourth + `00)-02-29)`
	timeFormat = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	octet      = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	label      = `[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?`
)

// formats are the shapes of the formats, by name.
var formats = sync.OnceValue(func() map[string]*shape {
	patterns := map[string]string{
		"date":      dateFormat,
		"time":      timeFormat,
		"date-time": dateFormat + "T" + timeFormat,
		"duration":  `P([0-9]{1,9}W|[0-9]{1,9}D(T([0-9]{1,9}H)?([0-9]{1,9}M)?[0-9]{1,9}S)?|T([0-9]{1,9}H)?([0-9]{1,9}M)?[0-9]{1,9}S)`,
		"uuid":      `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`,
		"ipv4":      octet + `(\.` + octet + `){3}`,
		"ipv6":      `[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}|::1|::`,
		"hostname":  label + `(\.` + label + `){0,3}`,
		"email":     `[A-Za-z0-9_+-]{1,20}(\.[A-Za-z0-9_+-]{1,20}){0,2}@` + label + `(\.` + label + `){1,3}`,
		"uri":       `https?://` + label + `(\.` + label + `){0,3}(:[1-9][0-9]{0,3})?(/[A-Za-z0-9._~-]{0,60}){0,8}(\?[A-Za-z0-9._~=&-]{0,200})?(#[A-Za-z0-9._~-]{0,60})?`,
	}
	shapes := map[string]*shape{}
	for name, p := range patterns {
		s, err := parsePattern(p, false)
		if err != nil {
			panic(err) // the table above is wrong
		}
		shapes[name] = s
	}
	return shapes
})
