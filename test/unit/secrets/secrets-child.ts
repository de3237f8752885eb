/** In a session with a key store: sets a key, has another process read and remove it, says "kept" when all of that was so. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { openSecrets } from '../../../src-main/secrets/secrets'

const [step, value] = process.argv.slice(2)
const secrets = openSecrets({ service: 'RecursiveMAS Studio tests' })

function fail(why: string): never {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}

if (step === 'inner') {
  const { value: got, place } = await secrets.get('hub-token')
  if (got !== value || place.kind !== 'key-store') fail(`another process got ${place.kind}`)
  await secrets.remove('hub-token')
  if ((await secrets.get('hub-token')).value !== null) fail('it is still there')
} else {
  const place = await secrets.set('hub-token', value)
  if (place.kind !== 'key-store') fail(String(place.problem.cause))
  // what the key store wrote into this session's folders is encrypted
  const folder = process.env.XDG_DATA_HOME!
  for (const name of readdirSync(folder, { recursive: true })) {
    const file = path.join(folder, String(name))
    if (statSync(file).isFile() && readFileSync(file).includes(value)) fail(`${file} holds it in clear`)
  }
  const { status, stderr } = spawnSync(process.execPath, [process.argv[1], 'inner', value], { encoding: 'utf8' })
  if (status !== 0) fail(stderr)
  process.stdout.write('kept\n')
}
