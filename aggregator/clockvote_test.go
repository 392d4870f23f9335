package aggregator

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestVote(t *testing.T) {
	const allowed = 100
	for _, c := range []struct {
		name  string
		skews []int // milliseconds ahead of Redis, of a, b, c …
		redis bool
		by    int
		wrong string
	}{
		{"nobody", nil, false, 0, ""},
		{"all right", []int{0, -100, 100}, false, 0, ""},
		{"one is wrong", []int{5, -3, 60000}, false, 0, "c+60000"},
		{"a lone node is no majority", []int{60000}, false, 0, "a+60000"},
		{"two disagree", []int{0, 60000}, false, 0, "b+60000"},
		{"two agree against Redis", []int{-60000, -60050}, true, -60000, ""},
		{"most agree against Redis, one with it", []int{3000, 3050, 3010, 0}, true, 3010, "d-3010"},
		{"half is not most, and the other half agrees with Redis", []int{3000, 3050, 0, 10}, false, 0, "a+3000 b+3050"},
		{"half is not most: ahead", []int{3000, 3050, 0, 5000}, false, 0, "a+3000 b+3050 d+5000"},
		{"half is not most: behind", []int{-3000, -3050, 0, 10}, false, 0, "a-3000 b-3050"},
		{"just outside", []int{101, 150, 201}, true, 150, ""},
		{"one of the group is near Redis", []int{100, 150, 200}, false, 0, "b+150 c+200"},
		{"all different", []int{1000, 2000, 3000}, false, 0, "a+1000 b+2000 c+3000"},
	} {
		var skews []Skew
		for i, ms := range c.skews {
			skews = append(skews, Skew{string(rune('a' + i)), time.Duration(ms) * time.Millisecond})
		}
		j := JudgeClocks(skews, allowed*time.Millisecond)
		wrong := ""
		for _, s := range j.Wrong {
			if wrong != "" {
				wrong += " "
			}
			wrong += fmt.Sprintf("%s%+d", s.Node, s.Ahead.Milliseconds())
		}
		if j.Redis != c.redis || j.By != time.Duration(c.by)*time.Millisecond || wrong != c.wrong {
			t.Errorf("%s: Redis %t by %s, wrong %q; want %t by %d ms, %q", c.name, j.Redis, j.By, wrong, c.redis, c.by, c.wrong)
		}
	}
}

// TestVoteTexts: each wrong clock has a text that says by how much and in which
// direction.
func TestVoteTexts(t *testing.T) {
	j := Judgement{Redis: true, By: 3 * time.Second, Wrong: []Skew{{"a", 1500 * time.Millisecond}, {"b", -2 * time.Second}}}
	got := j.Texts()
	for about, words := range map[string]string{"redis": "it is 3s behind them", "a": `"a" is 1.5s ahead of the fleet's`, "b": `"b" is 2s behind the fleet's`} {
		if !strings.Contains(got[about], words) {
			t.Errorf("%s: %q lacks %q", about, got[about], words)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d texts", len(got))
	}
}
