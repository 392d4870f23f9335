package scenes

// wanted are scenes of people and programs in which all is as it should be.
var wanted = []Scene{
	{Name: "office", Says: "50 people behind one address; all log in within half an hour, 10 % mistype 1 to 3 times", play: office},
	{Name: "carrier", Says: "200 readers behind one address of a mobile carrier, in one evening", play: carrier},
	{Name: "forgetful", Says: "people at home who try six passwords and then ask for a new one", play: forgetful},
	{Name: "editors", Says: "WordPress editors: autosave, uploads, and a tab whose session has ended", play: editors},
	{Name: "joomla", Says: "Joomla editors: lists filtered by POST, saves, mistyped logins", play: joomlaEditors},
	{Name: "portal", Says: "30 people behind one address in an application whose sessions end: its scripts then answer 403", play: portal},
	{Name: "phone", Says: "WordPress' app on phones: 40 calls of XML-RPC a day, in bursts", play: phones},
	{Name: "app", Says: "an app with an API: bursts after a pause, and tokens that have expired", play: app},
	{Name: "jetpack", Says: "Jetpack: XML-RPC from few addresses, and its monitor", play: jetpack},
	{Name: "hot-linked", Says: "readers of another site that shows 60 deleted images of this one", play: hotLinked},
	{Name: "forum", Says: `a forum page with <img src="/.env"> and three more like it`, play: forum},
	{Name: "broken-theme", Says: "a theme that asks for 25 styles and scripts that are not there", play: brokenTheme},
	{Name: "crawler", Says: "crawlers of a site that was moved: every fourth page is gone", play: crawlers},
	{Name: "monitor", Says: "uptime monitors, one of them of a page that is not there", play: monitors},
	{Name: "feeds", Says: "feed readers, some of a feed that is gone", play: feeds},
	{Name: "assets", Says: "pages of 150 pictures and scripts each, read by homes and an office of 30", play: assets},
	{Name: "webhooks", Says: "a payment service that sends 3,000 webhooks in 10 minutes, some of them again", play: webhooks},
	{Name: "fast-crawler", Says: "a crawler at 5 pages a second for half an hour, 8 % of them gone", play: fastCrawler},
	{Name: "password-managers", Says: "60 homes whose password manager sends the old password by itself, 6 to 9 times a day", play: passwordManagers},
	{Name: "apt", Says: "40 apt clients, half of them behind one address, whose mirror lacks the lists that are compressed as .gz", play: aptClients},
	{Name: "packages", Says: "50 pip, npm and git clients: archives and objects that are not there", play: packageClients},
	{Name: "source-maps", Says: "developers whose browsers ask for source maps that were not uploaded", play: sourceMaps},
	{Name: "administrator", Says: "an application that is not Joomla under /administrator/: 12 people, all it sends is POST, answered 200", play: administrator},
	{Name: "administrator-php", Says: "the same, written in PHP: all of it is sent to /administrator/index.php", play: administratorPHP},
}

// crowds are the scenes in which rules were found to block people.
var crowds = []Scene{
	{Name: "spa-office", Says: "80 people behind one address in a single-page application: 40 calls of /api a page, and a poll every 15 s", play: spaOffice},
	{Name: "spa-office-data", Says: "the same; its calls are below /data/ and /rpc/", play: spaOfficeData},
	{Name: "carrier-logins", Says: "300 people behind one address of a carrier in one evening; 30 % log in, 2 of 5 of these mistype", play: carrierLogins},
	{Name: "class", Says: "a school class of 30 with new passwords, in one lesson", play: class},
	{Name: "finder", Says: "Macs with a WebDAV folder: Finder asks for ._name and .DS_Store everywhere", play: finder},
	{Name: "windows-webdav", Says: "Windows with a WebDAV folder: desktop.ini, and ~$ of each document that is opened", play: windowsWebDAV},
	{Name: "feed-farm", Says: "a feed reader's server that reads 400 feeds, of which 60 are gone", play: feedFarm},
	{Name: "prefetch", Says: "a site whose pages have 8 dead links each, which browsers prefetch", play: prefetch},
	{Name: "sale", Says: "a sale's evening: 4,000 shoppers at home, half of them in the first half hour; a quarter log in, of whom 10 % mistype", play: sale},
	{Name: "mailing", Says: "a mail to customers: 5,000 open its page within 3 hours, half of them in the first half hour; one in ten logs in", play: mailing},
	{Name: "crawler-migration", Says: "an unverified crawler that asks for 24 scripts of the old site a minute", play: crawlerMigration},
}
