import { createServer } from "node:https";
import { expressHandler } from "@dunlin/sdk";
import express from "express";
import { receiver } from "./receiver.js";
import { host, listening, port, tls } from "./serving.js";

const app = express();
app.post("/dunlin", expressHandler(receiver));
app.use(express.json());
createServer(tls, app).listen(port, host, listening);
