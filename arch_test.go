package edgeguard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floor says what one package may import of ours, and whether it is pure: no
// I/O, no clock, no goroutine, no logging, no metrics.
type floor struct {
	imports []string
	pure    bool
}

// floors is the house, from the words up to the program. A package that is
// not listed fails the test, so that a new room is a decision and not an
// accident. "*" stands for any of ours.
var floors = map[string]floor{
	"":                          {pure: true},
	"ring":                      {imports: []string{""}, pure: true},
	"rules":                     {imports: []string{"", "internal/nearest", "internal/unsafetext", "internal/words"}, pure: true},
	"blocklist":                 {imports: []string{"", "blocklist/order"}, pure: true},
	"blocklist/imported":        {imports: []string{"", "blocklist"}, pure: true},
	"blocklist/order":           {pure: true},
	"shard":                     {imports: []string{"", "ring"}, pure: true},
	"tuning":                    {imports: []string{"", "shard"}, pure: true},
	"tuning/evidence":           {imports: []string{"", "internal/unsafetext", "rules", "tuning"}, pure: true},
	"tuning/propose":            {imports: []string{"", "rules", "tuning", "tuning/evidence"}, pure: true},
	"tuning/history":            {imports: []string{"tuning"}, pure: true},
	"crowdsec/alerts":           {imports: []string{""}, pure: true},
	"crowdsec/client":           {imports: []string{"crowdsec/stream", "internal/networds", "internal/safetext"}},
	"crowdsec/figures":          {pure: true},
	"crowdsec/intake":           {imports: []string{"", "blocklist/imported", "crowdsec/figures", "crowdsec/stream", "internal/safetext"}, pure: true},
	"crowdsec/lapitest":         {imports: []string{"internal/freeport"}},
	"crowdsec/stream":           {pure: true},
	"feed":                      {imports: []string{"", "internal/safetext", "internal/words"}, pure: true},
	"feed/fetch":                {imports: []string{"feed", "internal/networds", "internal/safetext", "internal/smallfile"}},
	"detector":                  {imports: []string{"", "rules", "shard", "ring", "blocklist", "blocklist/imported", "detector/crowd", "internal/unsafetext"}, pure: true},
	"detector/crowd":            {pure: true},
	"crawlers":                  {imports: []string{""}, pure: true},
	"crawlers/lookup":           {imports: []string{"crawlers"}},
	"detector/flood":            {imports: []string{""}, pure: true},
	"aggregator":                {imports: []string{"", "aggregator/sign", "internal/safetext", "shard", "ring"}, pure: true},
	"aggregator/sign":           {pure: true},
	"aggregator/health":         {pure: true},
	"aggregator/roster":         {imports: []string{"aggregator"}, pure: true},
	"aggregator/asked":          {imports: []string{"aggregator"}, pure: true},
	"aggregator/authority":      {imports: []string{"aggregator", "aggregator/sign", "blocklist"}, pure: true},
	"aggregator/cleared":        {imports: []string{"aggregator"}, pure: true},
	"aggregator/crowded":        {pure: true},
	"aggregator/ask":            {pure: true},
	"aggregator/evidence":       {imports: []string{"aggregator", "ring"}, pure: true},
	"aggregator/figures":        {imports: []string{"aggregator"}, pure: true},
	"aggregator/drift":          {imports: []string{"aggregator/roster"}, pure: true},
	"aggregator/mirror":         {imports: []string{"aggregator", "aggregator/authority"}, pure: true},
	"aggregator/outbox":         {imports: []string{"", "blocklist"}, pure: true},
	"aggregator/redis":          {imports: []string{"", "aggregator", "aggregator/asked", "aggregator/ask", "aggregator/authority", "aggregator/cleared", "aggregator/crowded", "aggregator/drift", "aggregator/evidence", "aggregator/figures", "aggregator/mirror", "aggregator/outbox", "aggregator/roster", "aggregator/sign", "aggregator/health", "aggregator/redis/bounds", "aggregator/redis/endpoint", "aggregator/redis/eviction", "aggregator/redis/exchange", "aggregator/redis/fault", "aggregator/redis/lease", "aggregator/redis/library", "aggregator/redis/tuned", "blocklist", "clockguard", "internal/safetext", "internal/together"}},
	"aggregator/redis/bounds":   {imports: []string{"aggregator/redis/library"}},
	"aggregator/redis/library":  {},
	"aggregator/redis/lease":    {imports: []string{"aggregator/authority", "aggregator/redis/bounds"}},
	"aggregator/redis/tuned":    {imports: []string{"aggregator/authority", "aggregator/redis/bounds", "aggregator/sign", "aggregator/thresholds"}},
	"aggregator/thresholds":     {imports: []string{"internal/safetext"}, pure: true},
	"aggregator/redis/endpoint": {},
	"aggregator/redis/eviction": {},
	"aggregator/redis/exchange": {imports: []string{"aggregator", "aggregator/authority", "aggregator/figures", "aggregator/redis/bounds"}},
	"aggregator/redis/fault":    {imports: []string{"aggregator/health", "aggregator/redis/library", "internal/safetext"}},
	"aggregator/member":         {imports: []string{"", "aggregator", "blocklist", "detector", "rules", "shard"}, pure: true},
	"aggregator/quarantine":     {imports: []string{"", "aggregator", "blocklist", "detector", "detector/crowd"}, pure: true},
	"clockguard":                {},
	"config":                    {imports: []string{"", "config/address", "config/blocklists", "config/crowdsec", "config/document", "config/enforcers", "config/envoy", "config/fieldpath", "config/haproxy", "config/notify", "config/read", "config/redisurl", "config/ruletext", "config/write", "config/yamltext", "crawlers", "haproxy/columns", "internal/safetext", "logline", "presets", "rules"}},
	"config/envoy":              {imports: []string{"config/address", "config/fieldpath", "config/read", "config/write", "config/yamltext"}},
	"config/haproxy":            {imports: []string{"config/address", "config/fieldpath", "config/read", "config/write", "config/yamltext"}},
	"config/blocklists":         {imports: []string{"", "config/fieldpath", "config/read", "config/write", "config/yamltext", "feed"}},
	"config/crowdsec":           {imports: []string{"config/yamltext", "config/address", "config/fieldpath", "config/read", "config/write"}},
	"config/notify":             {imports: []string{"config/fieldpath", "config/read", "config/write", "config/yamltext", "notify/target"}},
	"config/enforcers":          {imports: []string{"config/fieldpath", "config/read", "config/write", "config/yamltext", "config/cloud"}},
	"config/cloud":              {imports: []string{"config/fieldpath", "config/read", "config/write", "config/yamltext"}},
	"config/read":               {imports: []string{"config/address", "config/document", "config/expand", "config/fieldpath", "config/prefix", "config/yamltext", "internal/nearest"}},
	"config/write":              {imports: []string{"config/address", "config/expand", "config/fieldpath", "config/yamltext"}},
	"config/fieldpath":          {pure: true},
	"config/document":           {pure: true},
	"config/expand":             {pure: true},
	"config/prefix":             {pure: true},
	"config/redisurl":           {pure: true},
	"config/yamltext":           {imports: []string{"internal/words"}, pure: true},
	"config/ruletext":           {imports: []string{"config/yamltext", "rules"}, pure: true},
	"config/address":            {},
	"presets":                   {pure: true},
	"packaging":                 {pure: true},
	"setup":                     {imports: []string{"config/yamltext", "internal/safetext", "logline", "setup/proxyconf"}, pure: true},
	"setup/proxyconf":           {imports: []string{"setup/directives"}, pure: true},
	"setup/directives":          {pure: true},
	"migrate":                   {imports: []string{"", "config/ruletext", "config/yamltext", "internal/safetext", "internal/words", "rules"}, pure: true},
	"migrate/condition":         {imports: []string{"internal/safetext", "rules"}, pure: true},
	"migrate/jsontree":          {pure: true},
	"migrate/awswaf":            {imports: []string{"", "internal/safetext", "migrate", "migrate/condition", "migrate/jsontree"}, pure: true},
	"migrate/cloudflare":        {imports: []string{"", "migrate", "migrate/condition", "migrate/jsontree"}, pure: true},
	"migrate/nginx":             {imports: []string{"", "migrate", "migrate/condition", "migrate/nginxconf"}, pure: true},
	"migrate/nginxconf":         {imports: []string{"setup/directives"}, pure: true},
	"migrate/migratetest":       {imports: []string{"config", "migrate", "rules"}},
	"logline":                   {imports: []string{"", "logline/entry", "logline/scan", "logline/pattern", "logline/jsonlog", "logline/csvlog", "logline/haproxylog", "logline/alblog", "logline/squidlog", "logline/w3clog", "logline/envoylog", "logline/envelope", "logline/regexlog", "logline/services", "logline/jsonpath"}, pure: true},
	"logline/services":          {pure: true},
	"logline/jsonpath":          {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/scan":              {imports: []string{"internal/unsafetext"}, pure: true},
	"logline/entry":             {imports: []string{"", "logline/scan", "internal/unsafetext"}, pure: true},
	"logline/pattern":           {imports: []string{"", "logline/entry", "logline/scan", "internal/unsafetext"}, pure: true},
	"logline/jsonlog":           {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/csvlog":            {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/regexlog":          {imports: []string{"", "logline/entry", "logline/scan", "internal/unsafetext"}, pure: true},
	"logline/haproxylog":        {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/alblog":            {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/w3clog":            {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/envelope":          {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/envoylog":          {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"logline/squidlog":          {imports: []string{"", "logline/entry", "logline/scan"}, pure: true},
	"crowdsec/decisions":        {pure: true},
	"crowdsec/keys":             {imports: []string{"internal/atomicfile", "internal/safepath"}},
	"crowdsec/lapi":             {imports: []string{"crowdsec/decisions", "crowdsec/keys", "internal/safetext"}},
	"crowdsec/lapi/bouncertest": {},
	"admin/bouncers":            {imports: []string{"admin/access", "admin/call"}},
	"node/bouncers":             {imports: []string{"", "admin", "admin/bouncers", "admin/call", "admin/serve", "blocklist", "clockguard", "config", "config/crowdsec", "crowdsec/decisions", "crowdsec/keys", "crowdsec/lapi", "internal/unixsocket", "node/alarm", "node/checks", "node/inforce", "node/sockets", "node/supervisor", "snapshot", "internal/certfiles"}},
	"cmd/edgeguard/bouncers":    {imports: []string{"admin/bouncers", "admin/client", "cmd/edgeguard/output", "internal/safetext", "internal/words"}},
	"haproxy/access":            {imports: []string{"internal/certfiles"}},
	"haproxy/blocks":            {pure: true},
	"haproxy/columns":           {imports: []string{"", "rules"}, pure: true},
	"haproxy/link":              {pure: true},
	"haproxy/peers":             {imports: []string{"haproxy/varint"}, pure: true},
	"haproxy/tally":             {imports: []string{"haproxy/peers", "haproxy/varint"}, pure: true},
	"haproxy/varint":            {pure: true},
	"haproxy/spop":              {imports: []string{"haproxy/varint"}, pure: true},
	"haproxy/spop/spoptest":     {imports: []string{"haproxy/spop", "haproxy/varint"}, pure: true},
	"envoy/field":               {imports: []string{"internal/unsafetext"}, pure: true},
	"envoy/grpc":                {pure: true},
	"envoy/authz":               {imports: []string{"envoy/field"}, pure: true},
	"envoy/ratelimit":           {imports: []string{"envoy/field"}, pure: true},
	"sensor/accesslog":          {imports: []string{"", "logline", "internal/unixsocket", "sensor/datagrams"}},
	"sensor/haproxypeers":       {imports: []string{"haproxy/access", "haproxy/link", "haproxy/peers", "haproxy/tally", "internal/lobby"}},
	"sensor/datagrams":          {imports: []string{"logline"}},
	"sensor/packet":             {imports: []string{"", "internal/unsafetext"}},
	"sensor/clientaddr":         {imports: []string{""}, pure: true},
	"sensor/refusal":            {imports: []string{""}, pure: true},
	"sensor/envoy":              {imports: []string{"", "envoy/authz", "envoy/grpc", "envoy/ratelimit", "internal/joinwrites", "internal/lobby", "sensor/clientaddr", "sensor/refusal"}},
	"sensor/httpauth":           {imports: []string{"", "sensor/clientaddr", "sensor/refusal", "internal/lobby", "internal/unsafetext"}},
	"sensor/spoe":               {imports: []string{"", "haproxy/spop", "internal/lobby", "internal/unsafetext"}},
	"sensor/spoe/proxytest":     {},
	"sensor/httpauth/proxytest": {imports: []string{"", "sensor/httpauth", "sensor/refusal"}},
	"enforce":                   {imports: []string{"", "blocklist", "internal/safepath", "internal/atomicfile", "internal/unixsocket"}},
	"enforce/trial":             {imports: []string{"enforce", "enforce/nftables", "internal/atomicfile", "internal/safepath"}},
	"enforce/sshpeers":          {},
	"enforce/enforcetest":       {imports: []string{"", "enforce"}},
	"enforce/haproxypeers":      {imports: []string{"enforce", "haproxy/blocks", "haproxy/peers"}},
	"enforce/nftables":          {imports: []string{"enforce"}},
	"enforce/cloud":             {imports: []string{"enforce", "internal/networds", "internal/safetext"}},
	"enforce/cloud/sigv4":       {pure: true},
	"enforce/cloud/cloudtest":   {},
	"enforce/awswaf":            {imports: []string{"enforce", "enforce/cloud", "enforce/cloud/sigv4", "internal/smallfile"}},
	"enforce/cloudflare":        {imports: []string{"enforce", "enforce/cloud", "internal/smallfile"}},
	"hostaddr":                  {imports: []string{""}},
	"snapshot":                  {imports: []string{"", "ring", "shard", "internal/safepath", "internal/atomicfile"}},
	"loadtest/haproxy":          {imports: []string{"*"}},
	"loadtest/haproxypeers":     {imports: []string{"*"}},
	"loadtest/haproxyload":      {imports: []string{"*"}},
	"loadtest/box":              {imports: []string{"*"}},
	"loadtest/console":          {imports: []string{"*"}},
	"loadtest/scale":            {imports: []string{"*"}},
	"loadtest/authhop":          {imports: []string{"*"}},
	"admin":                     {imports: []string{"admin/imports", "admin/kernel", "", "admin/holders", "crawlers", "detector/flood", "haproxy/link", "notify/figures", "admin/access", "admin/bulk", "admin/call", "admin/listing", "admin/live", "admin/login", "admin/query", "admin/rates", "admin/refused", "admin/samples", "admin/scan", "admin/serve", "admin/session", "admin/sorted", "admin/watch", "tuning", "blocklist", "internal/lobby", "internal/safetext", "internal/sheetcell", "admin/tune", "admin/export", "admin/recent", "admin/outcome", "admin/fleetstate", "admin/bouncers", "crowdsec/figures"}},
	"admin/login":               {imports: []string{"admin/access", "admin/call"}},
	"admin/assets":              {},
	"admin/console/draw":        {imports: []string{"internal/words"}, pure: true},
	"admin/console/past":        {imports: []string{"admin/console/draw", "admin/outcome", "internal/words", "tuning/history"}},
	"admin/console/welcome":     {imports: []string{"internal/words"}, pure: true},
	"admin/console":             {imports: []string{"", "admin", "admin/access", "admin/assets", "admin/call", "admin/console/draw", "admin/console/past", "admin/console/welcome", "admin/listing", "admin/login", "admin/query", "admin/samples", "admin/tune", "internal/words", "tuning/history", "admin/outcome", "admin/console/wire", "admin/console/others", "admin/console/hour", "admin/console/columns", "admin/console/neighbours", "admin/fleetstate"}},
	"admin/console/wire":        {},
	"admin/console/columns":     {imports: []string{"admin/listing"}, pure: true},
	"admin/console/neighbours":  {imports: []string{"", "admin", "admin/bouncers", "admin/call", "admin/imports", "internal/words"}},
	"admin/console/hour":        {imports: []string{"", "admin/rates"}, pure: true},
	"admin/console/others":      {imports: []string{"", "aggregator"}, pure: true},
	"admin/refused":             {imports: []string{"", "admin/call", "blocklist"}},
	"admin/query":               {imports: []string{"", "admin/call", "admin/listing"}},
	"admin/call":                {imports: []string{"internal/safetext"}},
	"admin/metrics":             {imports: []string{"admin/imports", "", "admin", "haproxy/link", "notify/figures", "crawlers", "admin/fleetstate", "admin/bouncers", "crowdsec/figures"}},
	"admin/listing":             {imports: []string{"", "blocklist"}, pure: true},
	"admin/outcome":             {imports: []string{"admin/call", "admin/tune", "tuning", "tuning/history"}},
	"admin/rates":               {pure: true},
	"admin/recent":              {pure: true},
	"admin/imports":             {imports: []string{"", "admin/access", "admin/call"}},
	"admin/kernel":              {imports: []string{"admin/access", "admin/call"}},
	"node/kernel":               {imports: []string{"admin/call", "admin/kernel", "config", "enforce", "enforce/sshpeers", "enforce/trial", "internal/safetext", "node/alarm"}},
	"admin/bulk":                {imports: []string{"", "admin/access", "admin/call", "admin/query", "admin/refused"}},
	"admin/export":              {},
	"admin/samples":             {imports: []string{"admin/access", "admin/call"}},
	"admin/scan":                {},
	"admin/sorted":              {},
	"admin/live":                {},
	"admin/fleetstate":          {pure: true},
	"admin/holders":             {pure: true},
	"admin/watch":               {imports: []string{"admin/call"}},
	"admin/access":              {imports: []string{"admin/session", "internal/lobby", "internal/safetext", "internal/smallfile"}},
	"admin/session":             {pure: true},
	"admin/serve":               {imports: []string{"internal/lobby"}},
	"admin/client":              {imports: []string{"admin/imports", "admin/kernel", "", "admin/bulk", "admin/holders", "admin", "admin/call", "admin/login", "admin/outcome", "internal/unixsocket", "admin/tune", "admin/bouncers"}},
	"admin/openapi":             {imports: []string{"admin/imports", "admin/kernel", "admin/bulk", "admin/holders", "admin", "admin/call", "admin/login", "admin/samples", "admin/watch", "admin/tune", "admin/outcome", "admin/fleetstate", "admin/bouncers"}, pure: true},
	"admin/tune":                {imports: []string{"", "admin/access", "admin/call"}},
	"node":                      {imports: []string{"*", "node/bouncers"}},
	"node/alarm":                {imports: []string{""}, pure: true},
	"node/checks":               {imports: []string{"", "admin", "blocklist", "detector", "detector/flood", "internal/lobby", "node/alarm", "node/pipeline", "ring", "rules"}, pure: true},
	"node/blocklists":           {imports: []string{"admin", "admin/imports", "blocklist/imported", "config", "config/blocklists", "feed", "feed/fetch", "internal/atomicfile", "internal/safepath", "internal/safetext", "internal/words", "node/alarm", "node/supervisor"}},
	"node/crawling":             {imports: []string{"admin", "crawlers", "crawlers/lookup", "node/alarm", "node/supervisor"}},
	"node/envoy":                {imports: []string{"", "admin", "clockguard", "config", "config/envoy", "internal/certfiles", "internal/unixsocket", "node/alarm", "node/checks", "node/pipeline", "node/sockets", "node/supervisor", "sensor/clientaddr", "sensor/envoy", "sensor/refusal"}},
	"node/crowdsec":             {imports: []string{"", "admin", "admin/imports", "blocklist/imported", "clockguard", "config", "config/crowdsec", "crowdsec/alerts", "crowdsec/client", "crowdsec/figures", "crowdsec/intake", "internal/safetext", "internal/words", "node/alarm", "node/supervisor", "snapshot", "internal/smallfile"}},
	"node/evidence":             {imports: []string{"", "aggregator", "internal/safetext"}, pure: true},
	"node/historyfile":          {imports: []string{"snapshot", "tuning/history"}},
	"node/auditfile":            {imports: []string{"admin", "admin/recent", "snapshot"}},
	"node/evidencefile":         {imports: []string{"node/evidence", "snapshot"}},
	"node/fleetlink":            {imports: []string{"", "admin", "admin/holders", "aggregator", "aggregator/figures", "aggregator/quarantine", "aggregator/redis", "aggregator/redis/endpoint", "aggregator/redis/lease", "aggregator/roster", "blocklist", "clockguard", "config", "detector", "node/alarm", "node/checks", "node/evidence", "node/heldon", "node/overlay", "node/pipeline", "node/supervisor", "rules", "snapshot", "admin/fleetstate"}},
	"node/heldon":               {imports: []string{"admin/holders", "aggregator", "aggregator/roster", "node/supervisor"}},
	"node/haproxies":            {imports: []string{"", "admin", "clockguard", "config", "config/haproxy", "enforce/haproxypeers", "haproxy/access", "haproxy/blocks", "haproxy/columns", "haproxy/peers", "haproxy/tally", "internal/unixsocket", "node/alarm", "node/pipeline", "node/sockets", "node/supervisor", "sensor/haproxypeers"}},
	"node/samples":              {imports: []string{"", "internal/safetext"}, pure: true},
	"node/spoe":                 {imports: []string{"", "admin", "clockguard", "config", "config/haproxy", "haproxy/access", "internal/unixsocket", "node/alarm", "node/checks", "node/pipeline", "node/sockets", "node/supervisor", "sensor/spoe"}},
	"node/supervisor":           {imports: []string{"admin", "node/alarm"}},
	"node/sockets":              {imports: []string{"internal/unixsocket"}},
	"node/inforce":              {imports: []string{"", "blocklist", "blocklist/imported", "config", "enforce"}},
	"node/lists":                {imports: []string{"", "admin", "config", "config/enforcers", "enforce", "enforce/nftables", "enforce/sshpeers", "enforce/trial", "node/alarm", "node/clouds", "node/inforce", "node/kernel", "node/supervisor"}},
	"node/notify":               {imports: []string{"", "admin", "clockguard", "config", "config/notify", "node/alarm", "node/supervisor", "notify/alerts", "notify/deliver", "notify/figures", "notify/message", "notify/template"}},
	"notify/alerts":             {imports: []string{"notify/message"}, pure: true},
	"notify/deliver":            {imports: []string{"internal/networds", "internal/safetext", "notify/target", "internal/smallfile"}},
	"notify/figures":            {pure: true},
	"notify/message":            {imports: []string{"", "internal/safetext", "internal/words"}, pure: true},
	"notify/target":             {pure: true},
	"notify/template":           {imports: []string{"notify/message"}, pure: true},
	"node/imports":              {imports: []string{"admin", "admin/call", "admin/imports", "blocklist/imported", "node/alarm"}},
	"node/neighbours":           {imports: []string{"admin", "admin/imports", "config", "node/blocklists", "node/notify", "node/supervisor", "node/bouncers", "node/crowdsec", ""}},
	"node/clouds":               {imports: []string{"aggregator/redis/lease", "config", "config/cloud", "enforce", "enforce/awswaf", "enforce/cloud", "enforce/cloudflare"}},
	"node/overlay":              {imports: []string{"", "admin", "admin/call", "admin/outcome", "admin/tune", "aggregator/thresholds", "blocklist", "clockguard", "config", "detector", "internal/atomicfile", "internal/safepath", "internal/safetext", "node/alarm", "rules", "snapshot"}},
	"node/pipeline":             {imports: []string{"", "aggregator", "blocklist", "blocklist/imported", "config", "crawlers", "detector", "detector/flood", "aggregator/member", "haproxy/columns", "haproxy/tally", "node/samples", "rules", "shard"}, pure: true},
	"node/tallyfile":            {imports: []string{"haproxy/tally", "snapshot"}},
	"node/status":               {imports: []string{"", "admin/imports", "admin/holders", "admin", "admin/rates", "admin/samples", "admin/watch", "aggregator", "aggregator/figures", "aggregator/quarantine", "blocklist", "clockguard", "config", "detector", "node/pipeline", "node/samples", "rules", "shard", "tuning", "admin/tune", "admin/outcome", "tuning/history", "admin/fleetstate"}},
	"replay":                    {imports: []string{"*"}},
	"cmd/edgeguard/output":      {imports: []string{"internal/safetext"}},
	"cmd/edgeguard/blockfile":   {imports: []string{"internal/safetext", "internal/sheetcell"}, pure: true},
	"cmd/edgeguard/blocks":      {imports: []string{"", "admin", "admin/bulk", "admin/query", "cmd/edgeguard/blockfile", "admin/call", "admin/client", "aggregator", "cmd/edgeguard/heldon", "cmd/edgeguard/output", "internal/nearest", "internal/safetext", "internal/words"}},
	"cmd/edgeguard/doctor":      {imports: []string{"admin/kernel", "enforce/sshpeers", "admin/client", "aggregator/sign", "cmd/edgeguard/output", "cmd/edgeguard/unit", "config", "config/address", "config/notify", "internal/logtail", "internal/safetext", "internal/words", "admin", "enforce", "logline", "sensor/accesslog", "internal/safepath", "internal/unixsocket", "node/clouds", "admin/bouncers", "crowdsec/client", "config/crowdsec", "internal/smallfile"}},
	"cmd/edgeguard/imports":     {imports: []string{"admin/client", "admin/imports", "cmd/edgeguard/output", "internal/safetext", "internal/words"}},
	"cmd/edgeguard/console":     {imports: []string{"admin/call", "admin/client", "admin/login", "internal/safetext", "internal/words"}},
	"cmd/edgeguard/enforce":     {imports: []string{"admin/call", "admin/client", "admin/kernel", "cmd/edgeguard/observe", "config", "enforce/nftables", "enforce/sshpeers", "enforce/trial", "internal/safetext", "internal/words"}},
	"cmd/edgeguard/lists":       {imports: []string{"config", "enforce", "internal/safetext", "node/clouds", "node/lists"}},
	"cmd/edgeguard/notify":      {imports: []string{"config", "internal/safetext", "internal/words", "node/notify"}},
	"cmd/edgeguard/setup":       {imports: []string{"cmd/edgeguard/snippets", "cmd/edgeguard/unit", "config", "internal/atomicfile", "internal/logtail", "internal/safepath", "internal/safetext", "internal/words", "packaging", "setup", "setup/proxyconf"}},
	"cmd/edgeguard/unit":        {},
	"cmd/edgeguard/nodeaddr":    {imports: []string{"admin/call", "config", "config/document"}},
	"cmd/edgeguard/check":       {imports: []string{"", "cmd/edgeguard/doctor", "cmd/edgeguard/observe", "cmd/edgeguard/overlay", "cmd/edgeguard/unit", "config", "config/read", "crawlers/lookup", "node", "node/notify"}},
	"cmd/edgeguard/importing":   {imports: []string{"config", "internal/atomicfile", "internal/safepath", "internal/safetext", "internal/words", "migrate", "migrate/awswaf", "migrate/cloudflare", "migrate/nginx"}},
	"cmd/edgeguard/presets":     {imports: []string{"cmd/edgeguard/output", "config", "presets"}},
	"cmd/edgeguard/tune":        {imports: []string{"", "cmd/edgeguard/output", "internal/safetext", "internal/words", "replay", "tuning", "tuning/evidence", "tuning/propose"}},
	"cmd/edgeguard/tune/page":   {imports: []string{"admin/console/draw", "cmd/edgeguard/tune", "internal/safetext", "internal/words", "tuning", "tuning/evidence", "tuning/propose"}},
	"cmd/edgeguard/complete":    {imports: []string{"", "admin", "admin/client", "cmd/edgeguard/output", "config", "logline/services", "migrate/awswaf", "presets"}},
	"cmd/edgeguard/observe":     {imports: []string{"cmd/edgeguard/observe/crowdsec", "cmd/edgeguard/observe/neighbours", "admin", "admin/call", "admin/client", "admin/live", "admin/outcome", "cmd/edgeguard/blocks", "cmd/edgeguard/output", "internal/safetext", "internal/words", "admin/fleetstate"}},
	"cmd/edgeguard/snippets":    {imports: []string{"haproxy/blocks", "haproxy/columns", "internal/nearest", "rules"}, pure: true},
	"cmd/edgeguard/ownsocket":   {imports: []string{"internal/safepath"}},
	"cmd/edgeguard/logs":        {},
	"cmd/edgeguard/trial":       {imports: []string{"config", "config/expand", "config/yamltext"}},
	"cmd/edgeguard/overlay":     {imports: []string{"admin", "admin/call", "admin/client", "admin/tune", "config", "internal/safetext", "node/overlay"}},
	"cmd/edgeguard/heldon":      {imports: []string{"admin/holders", "admin", "admin/call", "internal/safetext", "internal/words"}},
	"cmd/edgeguard/fleet":       {imports: []string{"admin", "admin/client", "aggregator/redis", "aggregator/sign", "aggregator/redis/library", "cmd/edgeguard/output", "config", "internal/safetext", "internal/words", "node/fleetlink"}},
	"cmd/edgeguard":             {imports: []string{"*"}},
	"loadtest":                  {imports: []string{"*"}},
	"loadtest/benign":           {},
	"loadtest/detection":        {imports: []string{"*"}},
	"loadtest/differential":     {imports: []string{"*"}},
	"loadtest/fleet":            {imports: []string{"*"}},
	"loadtest/gen":              {imports: []string{"loadtest/traffic"}},
	"loadtest/kernel":           {},
	"loadtest/recipes":          {},
	"loadtest/torture":          {imports: []string{"*"}},
	"loadtest/report":           {imports: []string{"*"}},
	"loadtest/tuned":            {imports: []string{"*"}},
	"loadtest/traffic":          {},
	"internal/hugepage":         {imports: []string{"shard"}},
	"internal/certfiles":        {},
	"internal/joinwrites":       {},
	"internal/lobby":            {},
	"internal/unixsocket":       {},
	"internal/logtail":          {},
	"internal/safepath":         {},
	"internal/smallfile":        {},
	"internal/atomicfile":       {imports: []string{"internal/safepath"}},
	"internal/together":         {},
	"internal/networds":         {},
	"internal/nearest":          {pure: true},
	"internal/safetext":         {pure: true},
	"internal/sheetcell":        {pure: true},
	"internal/words":            {pure: true},
	"internal/unsafetext":       {pure: true},
	"internal/house":            {},
	"internal/monitoring":       {},
	"internal/thirdparty":       {},
	"internal/realdata":         {},
	"internal/freeport":         {},
	"internal/nodetest":         {},
	"internal/redistest":        {imports: []string{"internal/freeport"}},
	"internal/redistwin":        {imports: []string{"", "aggregator"}, pure: true},

	"cmd/edgeguard/observe/neighbours": {imports: []string{"admin/bouncers", "internal/words", "notify/figures"}, pure: true},
	"cmd/edgeguard/observe/crowdsec":   {imports: []string{"crowdsec/figures", "internal/safetext", "internal/words"}},
	"cmd/edgeguard/snippets/command":   {imports: []string{"", "cmd/edgeguard/output", "cmd/edgeguard/snippets", "config"}},
}

// impure lists what a pure package may not import. net/netip and the types of
// time are fine: they do nothing.
var impure = []string{
	"context", "database/sql", "io/ioutil", "log", "log/slog", "math/rand", "math/rand/v2",
	"net", "net/http", "os", "os/exec", "os/signal", "syscall",
	"github.com/prometheus/client_golang/prometheus", "github.com/redis/go-redis/v9",
}

// clockNames are the parts of package time that read the clock or start a
// timer.
var clockNames = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

func TestArchitecture(t *testing.T) {
	eachFile(t, checkFile)
}

// eachFile calls do with every Go file of this module that is not a test.
func eachFile(t *testing.T, do func(t *testing.T, file string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || isModule(file)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		do(t, filepath.ToSlash(file), fset, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// packageOf returns the folder of a file, "" for the root.
func packageOf(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir
	}
	return ""
}

// isModule reports whether dir is a module of its own, whose imports are its
// own business.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func checkFile(t *testing.T, file string, fset *token.FileSet, f *ast.File) {
	pkg := packageOf(file)
	rule, listed := floors[pkg]
	if !listed {
		t.Errorf("%s: package %q has no floor: add it to the table above, with a reason in docs/adr", file, pkg)
		return
	}
	for _, spec := range f.Imports {
		if problem := badImport(rule, spec); problem != "" {
			t.Errorf("%s: imports %s: %s", fset.Position(spec.Pos()), spec.Path.Value, problem)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if problem := badNode(rule, pkg, n); problem != "" {
			t.Errorf("%s: %s", fset.Position(n.Pos()), problem)
		}
		return true
	})
}

func badImport(rule floor, spec *ast.ImportSpec) string {
	if folder, isOurs := ourFolder(spec); isOurs {
		if !slices.Contains(rule.imports, "*") && !slices.Contains(rule.imports, folder) {
			return "not on this package's floor"
		}
		return ""
	}
	imported, _ := strconv.Unquote(spec.Path.Value)
	if rule.pure && slices.Contains(impure, imported) {
		return "this package is pure: no I/O, no clock, no logging"
	}
	return ""
}

// badNode finds a clock that is read, or a goroutine that is started, where it
// must not be. Edges may read the clock for deadlines and latencies, but slots
// come from clockguard alone.
func badNode(rule floor, pkg string, n ast.Node) string {
	if !rule.pure {
		return ""
	}
	switch n := n.(type) {
	case *ast.GoStmt:
		return "this package is pure: it starts no goroutine"
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clockNames, n.Sel.Name) {
			return "this package is pure: time." + n.Sel.Name + " reads the clock; take now as an argument"
		}
	}
	return ""
}
