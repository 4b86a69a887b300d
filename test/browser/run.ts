// `npm run proof -- browser`: the tests in a real browser.
process.argv.splice(2, process.argv.length - 2, "test/browser/*.browser.ts");
await import("../run.ts");
