/** Starts the page. */
import { mount } from 'svelte'
import 'katex/dist/katex.min.css'
import './styles/tokens.css'
import './styles/base.css'
import App from './App.svelte'
import { reportDefects } from './state/defects'

reportDefects()
const target = document.getElementById('app')
if (!target) throw new Error('index.html has no #app')
mount(App, { target })
