// `npm run proof -- installations`: the tests that start whole installations: the documents word by word, the demo, several
// processes on one database, backups, outages, and a short form of each fault campaign.
process.argv.push("--proof", "installation");
await import("./run.ts");
