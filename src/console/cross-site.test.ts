import assert from "node:assert/strict";
import { test } from "node:test";
import { isCrossSite, safePath } from "./cross-site.ts";

const ORIGIN = "https://dunlin.example";

test("a path leads only to a page of this site", () => {
  for (const path of ["/overview", "/actions?status=SENT", "/a/../actions", "/actions#x"]) {
    const to = new URL(safePath(path, ORIGIN), ORIGIN);
    assert.equal(to.href, new URL(path, ORIGIN).href.replace(/#.*/, ""), path);
  }
  for (const path of [
    null,
    "",
    "actions",
    "//evil.example",
    "/\\evil.example",
    "/.//evil.example",
    "/x/..//evil.example",
    "/./\\evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/a b",
  ])
    assert.equal(safePath(path, ORIGIN), "/overview", `${path}`);
});

test("a form from another site is detected by Sec-Fetch-Site or by its origin", () => {
  assert.equal(isCrossSite({ "sec-fetch-site": "same-origin" }, ORIGIN), false);
  for (const site of ["cross-site", "same-site", "none"])
    assert.equal(isCrossSite({ "sec-fetch-site": site }, ORIGIN), true);
  assert.equal(isCrossSite({ origin: ORIGIN }, ORIGIN), false);
  for (const origin of ["https://evil.example", "null", undefined]) assert.equal(isCrossSite({ origin }, ORIGIN), true);
});
