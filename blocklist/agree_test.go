package blocklist

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
)

// Of two blocks of one crossing the fleet's stands; whatever else differs, the
// greater does.
func TestAgree(t *testing.T) {
	prefix := netip.MustParsePrefix("198.51.100.7/32")
	mine := edgeguard.Block{Prefix: prefix, Rule: "site", Origin: "a", Since: epoch, Until: epoch.Add(time.Hour), Version: 3}
	tests := []struct {
		name   string
		change func(*edgeguard.Block)
		forced bool
		agrees bool
	}{
		{"a moment sooner", func(b *edgeguard.Block) { b.Until = b.Until.Add(-time.Millisecond) }, false, true},
		{"a second sooner", func(b *edgeguard.Block) { b.Until = b.Until.Add(-oneCrossing) }, false, true},
		{"sooner by more", func(b *edgeguard.Block) { b.Until = b.Until.Add(-oneCrossing - 1) }, false, false},
		{"later", func(b *edgeguard.Block) { b.Until = b.Until.Add(time.Minute) }, false, true},
		{"of another rule", func(b *edgeguard.Block) { b.Rule, b.Until = "login", b.Until.Add(-1) }, false, false},
		{"older", func(b *edgeguard.Block) { b.Version, b.Until = 2, b.Until.Add(-1) }, false, false},
		{"newer", func(b *edgeguard.Block) { b.Version, b.Until = 4, b.Until.Add(-time.Minute) }, false, true},
		{"forced", func(b *edgeguard.Block) { b.Until = b.Until.Add(-1) }, true, false},
		{"lifted", func(b *edgeguard.Block) { b.Lifted, b.Until = true, b.Until.Add(-1) }, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(Config{})
			if _, err := l.Merge(mine, epoch); err != nil {
				t.Fatal(err)
			}
			theirs := mine
			theirs.Origin = "b"
			tt.change(&theirs)
			changed, err := l.Agree(theirs, Trust{Forced: tt.forced}, epoch)
			if err != nil || changed != tt.agrees {
				t.Errorf("changed %v, %v", changed, err)
			}
			_, b := l.Find(epoch, prefix.Addr())
			if agrees := b != nil && b.Origin == "b"; agrees != tt.agrees {
				t.Errorf("%+v stands", b)
			}
		})
	}
}

// What the list must not block is refused as by Merge.
func TestAgreeRefuses(t *testing.T) {
	l := New(Config{Protected: prefixes("198.51.100.0/24"), Allow: prefixes("192.0.2.0/24")})
	for prefix, want := range map[string]error{
		"198.51.100.7/32": ErrProtected, "192.0.2.1/32": ErrAllowed, "10.0.0.0/8": ErrTooWide,
	} {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Until: epoch.Add(time.Hour), Version: 1}
		if _, err := l.Agree(b, Trust{}, epoch); !errors.Is(err, want) {
			t.Errorf("%s: %v", prefix, err)
		}
	}
}

// A block's reason is changed only where it is still that block, and the
// record that is returned is what the list has.
func TestReword(t *testing.T) {
	prefix := netip.MustParsePrefix("198.51.100.7/32")
	made := edgeguard.Block{
		Prefix: prefix, Rule: "site", Origin: "a", Reason: "12 here", Count: 21, Limit: 20,
		Since: epoch, Until: epoch.Add(time.Hour), Version: 3,
	}
	tests := []struct {
		name   string
		change func(l *List)
		want   string // the reason of what is returned
	}{
		{"it stands", func(*List) {}, "a 12, b 9"},
		{"another was first", func(l *List) { l.Reword(made, "a 13, b 8", epoch) }, "a 13, b 8"},
		{"extended", func(l *List) {
			longer := made
			longer.Until = longer.Until.Add(time.Minute)
			_, _ = l.Merge(longer, epoch)
		}, "12 here"},
		{"lifted", func(l *List) { l.Lift(prefix, epoch, "a mistake", "a") }, "12 here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(Config{})
			if _, err := l.Merge(made, epoch); err != nil {
				t.Fatal(err)
			}
			tt.change(l)
			_, before := l.Find(epoch, prefix.Addr())
			told := 0
			l.OnChange(func(edgeguard.Block) { told++ })
			b := l.Reword(made, "a 12, b 9", epoch)
			_, after := l.Find(epoch, prefix.Addr())
			if b.Reason != tt.want || told != 0 {
				t.Errorf("%q, told %d times", b.Reason, told)
			}
			switch stands := b.Reason != made.Reason; {
			case stands && *after != b:
				t.Errorf("the list has %+v", after)
			case !stands && (before == nil) != (after == nil), !stands && after != nil && *after != *before:
				t.Errorf("%+v became %+v", before, after)
			}
			if got := l.Reword(made, "again", epoch); got.Reason != b.Reason {
				t.Errorf("a second time: %q", got.Reason)
			}
		})
	}
	if b := New(Config{}).Reword(made, "a 12, b 9", epoch); b != made {
		t.Errorf("of an empty list: %+v", b)
	}
}
