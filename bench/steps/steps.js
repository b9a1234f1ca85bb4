// Trains by an exported step in ONNX Runtime.
//   node steps.js FOLDER JOB.json    FOLDER/node_modules holds onnxruntime-node
// The job names the files of the step and of the first values, the batches of the run and one to time. Losses, the final
// variables and the milliseconds of the fastest step go to the files that it names. A job that serves does a step for each line of the
// standard input and answers with its milliseconds.
'use strict';
const fs = require('fs');
const path = require('path');
const [folder, file] = process.argv.slice(-2);
const ort = require(path.join(path.resolve(folder), 'node_modules', 'onnxruntime-node'));
const job = JSON.parse(fs.readFileSync(file, 'utf8'));
const arrays = { float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array, uint8: Uint8Array, bool: Uint8Array, uint64: BigUint64Array };

function tensors(batch) {
  const feeds = {};
  for (const { name, dtype, shape, data } of batch) {
    const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
    feeds[name] = new ort.Tensor(dtype, new arrays[dtype](bytes.buffer), shape);
  }
  return feeds;
}

async function main() {
  const options = { intraOpNumThreads: job.threads, logSeverityLevel: 3, graphOptimizationLevel: job.level };
  const start = await ort.InferenceSession.create(job.start, options);
  const step = await ort.InferenceSession.create(job.step, options);
  let state = await start.run({});
  const one = async (i, feeds) => {
    feeds.step = new ort.Tensor('int64', [BigInt(i)], []);
    feeds.rate = new ort.Tensor('float32', [1], []);
    if (job.seeded) feeds.seed = new ort.Tensor('int64', [BigInt(job.seed)], []);
    const out = await step.run({ ...state, ...feeds });
    for (const name in out) if (name.endsWith('.next')) state[name.slice(0, -5)] = out[name];
    return out.loss.data[0];
  };
  if (job.serve) {
    const feeds = tensors(job.timed);
    let i = 0;
    console.log('ready');
    for await (const _ of require('readline').createInterface({ input: process.stdin })) {
      const begin = process.hrtime.bigint();
      await one(i++, feeds);
      console.log(Number(process.hrtime.bigint() - begin) / 1e6);
    }
    return;
  }
  const losses = [];
  for (const [i, batch] of job.batches.entries()) losses.push(Number(await one(i, tensors(batch))));
  const out = fs.openSync(job.variables, 'w');
  for (const name of job.names) {
    const d = state[name].data;
    fs.writeSync(out, Buffer.from(d.buffer, d.byteOffset, d.byteLength));
  }
  fs.closeSync(out);
  let best = Infinity;
  const feeds = tensors(job.timed);
  for (let i = 0; i < job.repeats; i++) {
    const begin = process.hrtime.bigint();
    await one(job.batches.length + i, feeds);
    best = Math.min(best, Number(process.hrtime.bigint() - begin) / 1e6);
  }
  fs.writeFileSync(job.answer, JSON.stringify({ losses, ms: best }));
}
main().catch(e => { console.error(e.message || e); process.exit(1); });
