/** The downloader in a process of its own, to be killed: ENDPOINT NAME FOLDER TUNING. */
import { openHub } from '../../../src-main/hub/connection'
import { download, planDownload } from '../../../src-main/hub/download/download'

const [endpoint, name, folder, tuning] = process.argv.slice(2)
const hub = openHub({ endpoint, env: {} })
const plan = await planDownload(hub, { kind: 'dataset', name, folder })
await download(hub, plan, { tuning: JSON.parse(tuning) as object })
await hub.close()
