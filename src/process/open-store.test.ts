import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readSettings } from "../config/config.ts";
import { findMissingInstallation } from "./open-store.ts";

test("a missing database is reported with a hint at the demo's when that one exists", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "dunlin-open-"));
  try {
    const { settings } = readSettings({ DUNLIN_DATA: dataDir }, () => null, new Date("2026-11-20T12:00:00Z"));
    const missing = () => findMissingInstallation(settings);
    assert.match(missing()!, /There is no database in .* creates one there\.$/);
    mkdirSync(join(dataDir, "demo", "postgres"), { recursive: true });
    assert.ok(
      missing()!.endsWith(
        ` The demo's database is in ${join(dataDir, "demo")}: to use it, set DUNLIN_DATA to that folder.`,
      ),
    );
    mkdirSync(join(dataDir, "postgres"));
    assert.equal(missing(), null);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
