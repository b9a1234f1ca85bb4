package cli

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// fileNames are names of files that were given out, in lower case: some file systems ignore the case of letters.
type fileNames map[string]bool

// longestName is the length in bytes to which names are cut, which leaves room for suffixes: most file systems take 255.
const longestName = 200

// reserved matches names of devices on Windows, with or without an extension.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)`)

// valid returns a name that every file system takes.
func valid(name string) string {
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, c) || unicode.IsControl(c) {
			return '_'
		}
		return c
	}, name)
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "")
	}
	if reserved.MatchString(name) {
		name = "_" + name
	}
	if cut := strings.TrimRight(name, ". "); cut != name || cut == "" { // Windows removes them
		name = cut + "_"
	}
	return name
}

// of returns a valid name like the given one, with a number if it was given out before.
func (f fileNames) of(name string) string {
	name = valid(name)
	unique := name
	for i := 2; f[strings.ToLower(unique)]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	f[strings.ToLower(unique)] = true
	return unique
}
