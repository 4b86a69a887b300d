import { createServer } from "node:https";
import { honoHandler } from "@dunlin/sdk";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { receiver } from "./receiver.js";
import { host, listening, port, tls } from "./serving.js";

const app = new Hono();
app.post("/dunlin", honoHandler(receiver));
serve({ fetch: app.fetch, createServer, serverOptions: tls, port, hostname: host }, listening);
