// An instrumented Express application that receives a message, which fails once. Its spans and those
// of the server go to the collector of OTEL_EXPORTER_OTLP_ENDPOINT.
import { context, propagation, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { createRequire } from 'node:module'

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] })
provider.register()
registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new ExpressInstrumentation()] })
const express = createRequire(import.meta.url)('express')

const base = process.env.UNDERSTUDY_URL
const tracer = trace.getTracer('shop')
let failed = false
const app = express()
app.post('/mail', (request, response) => {
  tracer.startActiveSpan('send mail', (span) => {
    span.end()
    response.sendStatus(failed ? 200 : 503)
    failed = true
  })
})
const server = app.listen(0, '127.0.0.1', async () => {
  const post = async (path, body, headers = {}) => {
    const response = await fetch(base + path, { method: 'POST', body, headers })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  }
  const span = tracer.startSpan('order')
  const headers = { Authorization: `Bearer ${process.env.UNDERSTUDY_TOKEN}` }
  propagation.inject(trace.setSpan(context.active(), span), headers)
  await post(`/v2/publish/http://127.0.0.1:${server.address().port}/mail`, 'hello', headers)
  span.end()
  await post('/_understudy/settle')
  await post('/_understudy/clock/advance', '{"by":"1h"}')
  server.close()
  server.closeAllConnections()
  await provider.shutdown()
})
