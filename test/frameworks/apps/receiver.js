// Shared by all apps: the receiver, its store in a SQLite file, and a handler that writes in the store's transaction.
import { DatabaseSync } from "node:sqlite";
import { createWebhookReceiver } from "@dunlin/sdk";
import { sqliteEventStore } from "./sqlite-event-store.js";

const { DATABASE, WEBHOOK_TOKEN, WEBHOOK_SECRET } = process.env;
const db = new DatabaseSync(DATABASE);
const store = sqliteEventStore(db);
// Only the process crashes here, not the machine, so writes handed to the system are safe.
db.exec("pragma synchronous = normal; create table if not exists handled (id text, type text)");
const insert = db.prepare("insert into handled values (?, ?)");

/** Set by the driver: "full" or "broken". */
let trouble = "none";
process.on("message", (told) => {
  // The build of Next.js also loads this, and has messages of its own.
  if (!["none", "full", "broken"].includes(told)) return;
  trouble = told;
  process.send("told");
});

export const receiver = createWebhookReceiver({
  auth: { bearer: WEBHOOK_TOKEN },
  secrets: WEBHOOK_SECRET,
  // Events left by a crash are due again this soon.
  leaseMs: 1000,
  store: {
    ...store,
    full: () => trouble === "full",
    keep(event, now) {
      if (trouble === "broken") throw new Error("disk full");
      return store.keep(event, now);
    },
  },
  handle: ({ id, type }) => void insert.run(id, type),
});
