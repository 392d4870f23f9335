package config_test

import (
	"strings"
	"testing"

	"edgeguard/config"
)

// What is wrong with crawlers, and with rules that ask for them, is a problem at its
// place.
func TestCrawlers(t *testing.T) {
	const google = "crawlers: [{name: googlebot, ranges: /g.json}]\n"
	for text, want := range map[string]string{
		google + "rules: [{name: a, threshold: 1, match: {crawler: [googlebot, impostor], not: {crawler: verified}}}]": "",
		google + "rules: [{name: a, threshold: 1, match: {crawler: bingbot}}]":                                         `rules[0].match.crawler: "bingbot" is not one of the crawlers`,
		google + "rules: [{name: a, threshold: 1, match: {not: {crawler: bingbot}}}]":                                  `"bingbot" is not one`,
		google + "rules: [{name: a, threshold: 1, cost: [{match: {crawler: bingbot}, cost: 2}]}]":                      `"bingbot" is not one`,
		"rules: [{name: a, threshold: 1, match: {not: {crawler: verified}}}]":                                          `"verified" is not one of the crawlers; add it to crawlers`,
		"crawlers: [{name: googlebot}]":                                                                          "crawlers[0].ranges: nothing can verify it; set ranges",
		"crawlers: [{name: googlebot, ranges: g.json}]":                                                          "f:1:38: crawlers[0].ranges: \"g.json\" is not an absolute path",
		"crawlers: [{name: googlebot, dns: googleusercontent.com}]":                                              "crawlers[0].dns: googleusercontent.com has the names of a cloud's customers",
		"crawlers: [{name: a, dns: a.example, agent: abc}, {name: a, dns: a.example, agent: abc}]":               "crawlers[1]: is a second crawler of its name",
		"crawlers: [{nme: a}]":                                                                                   `did you mean "name"?`,
		"crawlers: [{dns: a.example}]":                                                                           "crawlers[0].name: invalid name",
		"crawlers: [" + strings.Repeat("{name: a, dns: a.example, agent: abc}, ", 65) + "]":                      "is a second crawler of its name, or more than 64",
		google + "listen: {auth: ['127.0.0.1:1']}\nrules: [{name: a, threshold: 1, match: {crawler: impostor}}]": "",
	} {
		c, err := config.Parse("f", []byte(text))
		switch {
		case err == nil && want != "":
			t.Errorf("%.80s: no error", text)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%.80s: %v", text, err)
		case err == nil && len(c.Warnings) > 0:
			t.Errorf("%.80s: %v", text, c.Warnings)
		}
	}
	c, err := config.Parse("f", []byte("crawlers: [{name: yandex, agent: [YandexBot, YandexImages], dns: Yandex.COM}]\nrules: [{name: a, threshold: 1, match: {crawler: yandex}}]"))
	if err != nil {
		t.Fatal(err)
	}
	readBack(t, c)
}
