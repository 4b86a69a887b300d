import { fastifyPlugin } from "@dunlin/sdk";
import fastify from "fastify";
import { receiver } from "./receiver.js";
import { host, listening, port, tls } from "./serving.js";

const app = fastify({ https: tls });
app.register(fastifyPlugin(receiver), { prefix: "/dunlin" });
await app.listen({ port, host });
listening();
