// `npm run proof -- worlds`: the tests that simulate a year of many customers: what the engine learns, and what it recovers.
process.argv.push("--proof", "world");
await import("./run.ts");
